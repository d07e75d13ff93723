package sidecar

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
)

// shortestKey is the length in bytes below which a key is no secret: blanking a
// word as short as that would make a text unreadable.
const shortestKey = 8

// keys are the credentials that were handed to the child. What the child writes
// may repeat one, so texts of it pass through hide. Safe for concurrent use.
type keys struct {
	mu   sync.RWMutex
	list []string
}

func (k *keys) add(key msg.Key) {
	if len(key) < shortestKey {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.list, string(key)) {
		k.list = append(k.list, string(key))
	}
}

// hide takes every known key out of a text.
func (k *keys) hide(text string) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, key := range k.list {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	return text
}

// clean takes every known key out of a line of the child: an agent's tool can
// read the environment of the vendor's program, and what it prints is shown and
// stored. Two kinds of frame stay as they are, since their texts are files of
// the person that are written back: an edit and a baseline.
func (k *keys) clean(l child.Line) child.Line {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, key := range k.list {
		if !bytes.Contains(l.Text, []byte(key)) {
			continue
		}
		if f, err := decode(l.Text); err == nil && (f.Type == "pending_edit" || f.Type == "edit_baseline") {
			return l
		}
		l.Text = bytes.ReplaceAll(l.Text, []byte(key), []byte("[key]"))
	}
	return l
}
