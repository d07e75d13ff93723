// Package sample has one of everything that the generator has to read.
package sample

import (
	"encoding/json"
	"time"
)

// Kind is a closed set with a list of its own.
type Kind string

const (
	KindNote Kind = "note"
	KindStop Kind = "the-stop"
	kindOwn  Kind = "never exported"
)

// Kinds lists both.
var Kinds = []Kind{KindNote, KindStop}

// FirstKinds is not all of them.
var FirstKinds = []Kind{KindNote}

// Colour is a closed set without a list.
type Colour string

const (
	Red  Colour = "red"
	Blue Colour = "blue"
)

type (
	// ID has no constants.
	ID string
	// Row is open although it has one.
	//
	//gen:open
	Row string
)

// RowDemo is a value of an open type.
const RowDemo Row = "demo"

const prefix = "pre-"

// The constants that keep their names.
const (
	TextQuote = "it's \u2014 \"so\" \\ \U0001F600"
	TextBuilt = prefix + "fix"
	MaxBytes  = 5 * 1024 * 1024
	Code      = -32600
	Half      = 0.5
	Yes       = true
)

// Rows are no list of strings, so they are not printed.
var Rows = []struct{ A int }{{1}}

// Event is an interface, which the page does not need.
type Event interface{ event() }

// Note is a bare string.
type Note string

// Stop has no fields and is an event.
type Stop struct{}

func (Note) Kind() Kind { return KindNote }
func (Stop) Kind() Kind { return KindStop }
func (Note) event()     {}
func (Stop) event()     {}

// Empty has no fields and is no event.
type Empty struct{}

// Base is embedded. A comment that ends like this */ is kept from ending.
type Base struct {
	ID ID `json:"id"`
}

// Wide has every type of field.
//
// It has two paragraphs.
type Wide struct {
	Base
	Text    string            `json:"text"`
	Maybe   *string           `json:"maybe,omitempty"`
	Null    *int              `json:"null"`
	Numbers []float64         `json:"numbers"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	When    time.Time         `json:"when"`
	Map     map[string]uint64 `json:"map"`
	Wide    *Wide             `json:"wide,omitempty"`
	Colours []Colour          `json:"colours,omitempty"`
	// Levels is null when there are none.
	//
	//gen:null
	Levels []string                   `json:"levels"`
	Any    any                        `json:"any"`
	Extra  map[string]json.RawMessage `json:"-"`
	own    int
}

// Inner is a shape without JSON keys.
type Inner struct{ A int }

// Patch is a named map.
type Patch map[string]json.RawMessage

type hidden struct {
	A int `json:"a"`
}

// What is the second family.
type What string

const WhatNew What = "new"

// TerminalWhat and OpsWhat are two more families.
type TerminalWhat string

const TerminalOpen TerminalWhat = "open"

// OpsWhat is the last one.
type OpsWhat string

const OpsSick OpsWhat = "sick"

// Method is what is called.
type Method string

const (
	MethodGet Method = "get_it"
	MethodSet Method = "set_it"
)

var WhatPayloads = []struct {
	What    What
	Payload any
}{
	{WhatNew, Patch{}},
}

var TerminalPayloads = []struct {
	What    TerminalWhat
	Payload any
}{
	{TerminalOpen, Empty{}},
}

var OpsPayloads = []struct {
	What    OpsWhat
	Payload any
}{
	{OpsSick, Patch{}},
}

var Shapes = []struct {
	Method         Method
	Params, Result any
}{
	{MethodGet, Empty{}, []Wide(nil)},
	{MethodSet, json.RawMessage(nil), Empty{}},
}
