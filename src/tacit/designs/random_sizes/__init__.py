"""An audit of every released artefact of every design, at random sizes."""
