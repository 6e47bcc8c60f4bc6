module skein.dev/skein

go 1.19
