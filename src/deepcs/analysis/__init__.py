"""What the runs show: statistics, scores, and the published results to compare with."""
