"""Generator of well-typed Weft programs and what is needed to compare `gridloom run` with `gridloom eval` on them."""
