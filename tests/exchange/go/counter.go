// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package main

import "iter"

// Counts up by coroutines, which switch without the scheduler.
func counter() (func() int, func()) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for n := 0; yield(n); n++ {
		}
	})
	return func() int { n, _ := next(); return n }, stop
}
