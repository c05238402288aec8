"""Makes ``tests.kit`` ours, whatever else has installed a package ``tests``."""
