"""The verdict, its sentence, and tables of other tools."""
