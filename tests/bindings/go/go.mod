module skein.dev/skein/tests

go 1.19

require skein.dev/skein v0.0.0

replace skein.dev/skein => ../../../bindings/go
