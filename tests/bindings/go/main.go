// SPDX-License-Identifier: Apache-2.0

// Uses all of the Go binding, and prints what it did: one JSON line. Ends with its stdin.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"skein.dev/skein/skein"
)

const each, workers, tasks = 500, 8, 200

func must(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, what)
		os.Exit(1)
	}
}

func main() {
	must(skein.Start(skein.Options{Service: "bound", Labels: "zone=a"}) == nil, "start")
	must(skein.WaitAttached(20*time.Second), "not attached")
	var all sync.WaitGroup
	for w := 0; w < workers; w++ {
		all.Add(1)
		go func(w int) {
			defer all.Done()
			for i := 0; i < each; i++ {
				n := int64(w*each + i)
				skein.Instant("go.mark", skein.Int("n", n), skein.Float("share", 0.5),
					skein.Bool("even", n%2 == 0), skein.Str("name", fmt.Sprintf("n%d", n)))
			}
		}(w)
	}
	// Goroutines that are all in their spans at once, whatever threads there are.
	gate := make(chan struct{})
	var in sync.WaitGroup
	for t := 0; t < tasks; t++ {
		all.Add(1)
		in.Add(1)
		go func(t int) {
			defer all.Done()
			span := skein.Begin("go.task", skein.Int("n", int64(t)))
			defer span.End()
			in.Done()
			<-gate
		}(t)
	}
	in.Wait()
	close(gate)
	all.Wait()
	for i := 0; i < 20; i++ {
		skein.Counter("go.depth", int64(i))
	}
	skein.Log(skein.Warn, "a line, ☃")
	before := skein.Refused()
	skein.Instant("x", skein.Int("a", 1), skein.Int("b", 1), skein.Int("c", 1), skein.Int("d", 1),
		skein.Int("e", 1), skein.Int("f", 1), skein.Int("g", 1))
	must(skein.Refused() == before+1, "seven arguments were taken")
	fmt.Printf("{\"marks\":%d,\"tasks\":%d}\n", each*workers, tasks)
	_, _ = io.ReadAll(os.Stdin)
	skein.Stop()
}
