"""Tie distributions of a pairwise evaluation: python analyze_ties.py VOTES (see --help)."""

import argparse

from analysis.commands import ties
from dialogue.command_line import exit_with


def main() -> None:
    parser = argparse.ArgumentParser(description=ties.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ties.add_arguments(parser)
    ties.run(parser.parse_args())


if __name__ == "__main__":
    exit_with(main)
