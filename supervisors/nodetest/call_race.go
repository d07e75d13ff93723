//go:build race

package nodetest

import "sync"

var calls sync.Mutex

func call(f func() (any, error)) (any, error) {
	calls.Lock()
	defer calls.Unlock()
	return f()
}
