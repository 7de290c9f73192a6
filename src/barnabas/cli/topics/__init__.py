"""`barnabas topics`: what the cluster's topics are, and changes to them."""
