package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// args are the arguments of one call, decoded one by one so that an error can
// name its field.
type args map[string]json.RawMessage

// decodeArgs accepts an object, or a string that holds one: both are met in the
// field. Nothing at all is an empty object.
func decodeArgs(raw json.RawMessage) (args, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var inner string
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, &ArgumentError{Problem: "are not valid JSON; send one JSON object"}
		}
		raw = bytes.TrimSpace([]byte(inner))
	}
	a := args{}
	if len(raw) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, &ArgumentError{Problem: "are not a JSON object; send one JSON object"}
	}
	if a == nil { // the word null
		a = args{}
	}
	return a, nil
}

// has reports whether the argument was given; null counts as not given.
func (a args) has(name string) bool {
	v, ok := a[name]
	return ok && !bytes.Equal(v, []byte("null"))
}

// text returns a string argument that must be given.
func (a args) text(name string) (string, error) {
	if !a.has(name) {
		return "", &ArgumentError{name, "is required"}
	}
	return a.textOr(name, "")
}

// textOr returns a string argument or its default.
func (a args) textOr(name, def string) (string, error) {
	if !a.has(name) {
		return def, nil
	}
	var s string
	if err := json.Unmarshal(a[name], &s); err != nil {
		return "", &ArgumentError{name, "must be a string"}
	}
	return s, nil
}

// filled returns a string argument that must hold more than white space.
func (a args) filled(name string) (string, error) {
	s, err := a.text(name)
	if err == nil && strings.TrimSpace(s) == "" {
		err = &ArgumentError{name, "must not be empty"}
	}
	return s, err
}

// whole returns an integer argument or its default. 30 and 30.0 are the same.
func (a args) whole(name string, def, least int) (int, error) {
	if !a.has(name) {
		return def, nil
	}
	var f float64
	if err := json.Unmarshal(a[name], &f); err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, &ArgumentError{name, "must be a whole number"}
	}
	if int(f) < least {
		return 0, &ArgumentError{name, fmt.Sprintf("must be at least %d", least)}
	}
	return int(f), nil
}

// yes returns a boolean argument; not given means false.
func (a args) yes(name string) (bool, error) {
	if !a.has(name) {
		return false, nil
	}
	var b bool
	if err := json.Unmarshal(a[name], &b); err != nil {
		return false, &ArgumentError{name, "must be true or false"}
	}
	return b, nil
}

// oneOf returns a string argument out of a list, or its default.
func (a args) oneOf(name, def string, allowed ...string) (string, error) {
	s, err := a.textOr(name, def)
	if err == nil && !slices.Contains(allowed, s) {
		err = &ArgumentError{name, "must be one of " + strings.Join(allowed, ", ")}
	}
	return s, err
}

// cutChars returns at most n characters of s and whether something was cut.
func cutChars(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

// cutBytes returns at most n bytes of s, cut at a character boundary.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// plural returns "1 byte", "2 bytes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxLocatorChars bounds Result.Locator. Source: tools-permissions.md section 9.
const maxLocatorChars = 180

func pathLocator(rel string) string {
	s, _ := cutChars(slashed(rel), maxLocatorChars)
	return s
}
