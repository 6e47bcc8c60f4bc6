// SPDX-License-Identifier: Apache-2.0

//go:build !go1.23

package main

func counter() (func() int, func()) {
	n := 0
	return func() int { n++; return n - 1 }, func() {}
}
