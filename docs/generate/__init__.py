"""What the site says of the code, written from the code: cheat sheets, papers, reference, commands."""
