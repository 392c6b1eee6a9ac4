"""The policies as the paper prints them; their privacy claims are refuted."""
