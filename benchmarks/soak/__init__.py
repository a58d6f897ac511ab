"""What the service promises when something breaks, tried: deaths, power cuts, faults of the disk, many processes."""
