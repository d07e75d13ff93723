//go:build !race

package nodetest

func call(f func() (any, error)) (any, error) { return f() }
