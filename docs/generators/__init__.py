"""Reference pages, one module for each subject: every page is made from the tables of the program."""
