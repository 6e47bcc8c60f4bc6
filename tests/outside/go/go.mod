module outside

go 1.19
