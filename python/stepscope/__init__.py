"""Where the time of a training run goes."""
