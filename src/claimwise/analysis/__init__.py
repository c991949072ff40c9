"""What notebooks compute and show: thresholds, intervals, tests, agreement, plots and tables. No torch, no model."""
