package git

import (
	"sync"
	"time"
)

// maxEntries is how many folders a cache remembers.
const maxEntries = 256

// cache shares results of one kind by folder. Whoever asks while a result is
// being made waits for it and takes it.
type cache[T any] struct {
	now     func() time.Time
	mu      sync.Mutex
	entries map[string]*entry[T]
}

type entry[T any] struct {
	mu    sync.Mutex
	at    time.Time // Of the result; zero for none.
	value T
}

// get returns the result for key that is at most age old, or makes one. One that
// make does not want kept is made again for the next who asks.
func (c *cache[T]) get(key string, age time.Duration, make func() (value T, keep bool)) T {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		c.evict()
		e = new(entry[T])
		c.entries[key] = e
	}
	c.mu.Unlock()
	asked := c.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	// A result that was begun after this was asked is as fresh as one can be.
	if !e.at.IsZero() && (asked.Sub(e.at) <= age) {
		return e.value
	}
	began := c.now()
	value, keep := make()
	e.value, e.at = value, began
	if !keep {
		e.at = time.Time{}
	}
	return value
}

// drop forgets the result for key.
func (c *cache[T]) drop(key string) {
	c.mu.Lock()
	delete(c.entries, key)
	c.mu.Unlock()
}

// evict makes room: any entry will do, since each can be made again.
func (c *cache[T]) evict() {
	for key := range c.entries {
		if len(c.entries) < maxEntries {
			return
		}
		delete(c.entries, key)
	}
}
