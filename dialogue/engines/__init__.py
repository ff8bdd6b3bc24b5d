"""Where jobs run: processes of this machine, a Ray cluster, Slurm. Each module alone knows its engine."""
