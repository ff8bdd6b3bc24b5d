"""Anybody's table as columns: text in any dialect and encoding, JSON, Parquet, Excel, Stata and SPSS, packed or not."""
