"""Golden files and what writes them: a test fails where a file differs from what the code makes.

client    messages, answers and refusals that every client agrees with, byte for byte
          (`python -m golden.client` writes them)
outputs   outputs of commands, the service's interface, and files that the package reads
          (`python -m golden.outputs` writes them)
"""
