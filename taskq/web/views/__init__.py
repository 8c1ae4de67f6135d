"""What the API answers: each view is a frozen Struct, made of what a reader found."""
