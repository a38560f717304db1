-- Rights. The toolkit is for everybody; tables and what writes them are granted by the owner: docs/reference/rights.md.
GRANT USAGE ON SCHEMA l4 TO PUBLIC;
GRANT ALL ON SCHEMA l4 TO @extowner@ WITH GRANT OPTION;
