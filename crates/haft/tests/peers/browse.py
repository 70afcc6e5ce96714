"""A browser that goes where it is led and shows nothing: browse.py URL"""

import sys
from urllib.request import urlopen

urlopen(sys.argv[1], timeout=60).read()
