"""Where big joins run: a readable reference and a compiled fast path that equals it by test."""
