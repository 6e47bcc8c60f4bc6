module skein/exchange

go 1.22
