"""The five architectures, one file each."""
