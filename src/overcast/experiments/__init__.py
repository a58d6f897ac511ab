"""The paper's experiments: one module a figure, all run, drawn and reported the same way."""
