package contract

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// knownKeys caches the JSON keys of a struct type.
var knownKeys sync.Map // reflect.Type -> map[string]bool

func keysOf(t reflect.Type) map[string]bool {
	if v, ok := knownKeys.Load(t); ok {
		return v.(map[string]bool)
	}
	keys := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			keys[name] = true
		}
	}
	knownKeys.Store(t, keys)
	return keys
}

// unknown decodes b into v, a pointer to a struct, and returns the keys that
// the struct does not have. Nil when there are none, which is the usual case.
func unknown(b []byte, v any) (map[string]json.RawMessage, error) {
	if err := json.Unmarshal(b, v); err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	known := keysOf(reflect.TypeOf(v).Elem())
	for key := range all {
		if known[key] || foldsInto(known, key) {
			delete(all, key)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// foldsInto reports whether the decoder took key for one of known, which it
// does without regard to case. Kept as unknown, such a key would override the
// known one at the next load.
func foldsInto(known map[string]bool, key string) bool {
	for k := range known {
		if strings.EqualFold(k, key) {
			return true
		}
	}
	return false
}

// withExtra encodes v, a struct, and appends the keys of extra.
func withExtra(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b, err := Marshal(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	more, err := Marshal(extra)
	if err != nil {
		return nil, err
	}
	if len(b) == len("{}") {
		return more, nil
	}
	return append(append(b[:len(b)-1], ','), more[1:]...), nil
}
