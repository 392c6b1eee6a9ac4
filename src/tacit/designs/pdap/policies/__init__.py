"""The learners of P-DAP: published, sound against others (joint), sound on the device (local)."""
