"""The paper kit: what an author takes from a report into a paper and its supplement."""
