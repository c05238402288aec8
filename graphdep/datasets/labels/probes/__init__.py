"""Labels that the tree alone decides, and what each set of edges can read of them."""
