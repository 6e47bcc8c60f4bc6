// SPDX-License-Identifier: Apache-2.0

// A program that does a little of what Go's execution tracer knows: goroutines that run, wait for each
// other, for time and for files, user tasks, regions and logs, collections of garbage, CPU samples.
//
//	main OUT [SECONDS]
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync"
	"time"
)

var sink [][]byte

func spin(for_ time.Duration) int {
	sum, until := 0, time.Now().Add(for_)
	for time.Now().Before(until) {
		for n := 0; n < 1000; n++ {
			sum += n
		}
	}
	return sum
}

func read(path string) {
	if _, err := os.ReadFile(path); err != nil {
		panic(err)
	}
}

func request(ctx context.Context, number int, lock *sync.Mutex) {
	ctx, task := trace.NewTask(ctx, "request")
	defer task.End()
	trace.WithRegion(ctx, "parse", func() { spin(200 * time.Microsecond) })
	trace.Logf(ctx, "order", "number %d", number)
	region := trace.StartRegion(ctx, "store")
	lock.Lock()
	time.Sleep(time.Millisecond)
	trace.WithRegion(ctx, "read file", func() { read("/proc/self/stat") })
	lock.Unlock()
	region.End()
	sink = append(sink[:0], make([]byte, 64<<10))
}

func work(until time.Time) {
	var lock sync.Mutex
	var all sync.WaitGroup
	numbers := make(chan int)
	for n := 0; n < 3; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range numbers {
				request(context.Background(), number, &lock)
			}
		}()
	}
	next, stop := counter()
	for time.Now().Before(until) {
		numbers <- next()
	}
	stop()
	close(numbers)
	all.Wait()
	runtime.GC()
}

func main() {
	out, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	seconds := 0.05
	if len(os.Args) > 2 {
		if seconds, err = strconv.ParseFloat(os.Args[2], 64); err != nil {
			panic(err)
		}
	}
	profile, _ := os.Create(os.DevNull)
	if err := pprof.StartCPUProfile(profile); err != nil {
		panic(err)
	}
	if err := trace.Start(out); err != nil {
		panic(err)
	}
	_, open := trace.NewTask(context.Background(), "never ends")
	work(time.Now().Add(time.Duration(seconds * float64(time.Second))))
	trace.StartRegion(context.Background(), "open")
	trace.Stop()
	_ = open
	pprof.StopCPUProfile()
	if err := out.Close(); err != nil {
		panic(err)
	}
	fmt.Println("traced by", runtime.Version())
}
