"""Graph files: `formats` tells by its content what a file is and reads it as a graph; one package for each vendor."""
