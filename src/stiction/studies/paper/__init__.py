"""The paper's experiments, and what each choice of ours is worth. One module an experiment."""
