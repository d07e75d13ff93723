package acp

import (
	"encoding/json"
	"slices"

	"github.com/packetbench/packetbench/contract"
)

// choice is one setting of a session that the engine lets us choose: a mode or
// a model. ids are in the engine's order; names are for people.
type choice struct {
	// option is the id of the configuration option, empty for the older shape
	// that has a method of its own.
	option  string
	current string
	ids     []string
	names   map[string]string
}

func (c choice) offers(id string) bool { return slices.Contains(c.ids, id) }

// name is what people call an id, the id itself when the engine gave no name.
func (c choice) name(id string) string {
	if n := c.names[id]; n != "" {
		return n
	}
	return id
}

func (c *choice) add(id, name string) {
	if id == "" || c.offers(id) {
		return
	}
	c.ids = append(c.ids, id)
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[id] = name
}

// settings are the choices that a session offers. legacyMode and legacyModel
// are the older shapes, kept beside the options for an engine whose
// session/set_config_option does not exist. Source: acp.md 6.3.
type settings struct {
	mode, model             choice
	legacyMode, legacyModel choice
}

// decodeSettings reads what session/new, load or resume answered.
func decodeSettings(result json.RawMessage) settings {
	top := object(result)
	var s settings
	modes := object(top["modes"])
	s.legacyMode = legacy(modes["currentModeId"], modes["availableModes"], "id")
	models := object(top["models"])
	s.legacyModel = legacy(models["currentModelId"], models["availableModels"], "modelId")
	s.mode, s.model = s.legacyMode, s.legacyModel
	s.takeOptions(top["configOptions"])
	return s
}

func legacy(current, list json.RawMessage, key string) choice {
	c := choice{current: str(current)}
	for _, entry := range array(list) {
		fields := object(entry)
		c.add(str(fields[key]), str(fields["name"]))
	}
	return c
}

// takeOptions replaces the choices by a complete list of options. Options win
// over the older shapes.
func (s *settings) takeOptions(raw json.RawMessage) {
	for _, entry := range array(raw) {
		fields := object(entry)
		c := choice{option: str(fields["id"]), current: str(fields["currentValue"])}
		if c.option == "" {
			continue
		}
		for _, o := range flat(fields["options"]) {
			c.add(str(o["value"]), str(o["name"]))
		}
		switch str(fields["category"]) {
		case "mode":
			s.mode = c
		case "model":
			s.model = c
		}
	}
}

// takeMode notes a mode that the engine entered.
func (s *settings) takeMode(id string) {
	if id != "" {
		s.mode.current, s.legacyMode.current = id, id
	}
}

// flat is the values of an option; some engines put them in groups.
func flat(raw json.RawMessage) (out []map[string]json.RawMessage) {
	for _, entry := range array(raw) {
		fields := object(entry)
		if inner := array(fields["options"]); str(fields["value"]) == "" && inner != nil {
			for _, o := range inner {
				out = append(out, object(o))
			}
			continue
		}
		out = append(out, fields)
	}
	return out
}

// models is the choice as a picker shows it, the current one first.
func (c choice) models() []contract.Model {
	out := make([]contract.Model, 0, len(c.ids))
	for _, id := range c.ids {
		m := contract.Model{Label: c.name(id), Value: id}
		if id == c.current {
			out = slices.Insert(out, 0, m)
		} else {
			out = append(out, m)
		}
	}
	return out
}

// decodeModels reads the answer to packetcode's models/list: the active pair
// comes first. A model that two providers list is offered once, for the engine
// is told a model and never a provider. Source: acp.md 6.3 and 7.
func decodeModels(result json.RawMessage) []contract.Model {
	out := []contract.Model{}
	for _, entry := range array(object(result)["models"]) {
		fields := object(entry)
		id, provider := str(fields["model"]), str(fields["provider"])
		if id == "" || slices.ContainsFunc(out, func(m contract.Model) bool { return m.Value == id }) {
			continue
		}
		label := id
		if provider != "" {
			label = provider + "/" + id
		}
		m := contract.Model{Label: label, Value: id}
		if truth(fields["default"]) {
			out = slices.Insert(out, 0, m)
		} else {
			out = append(out, m)
		}
	}
	return out
}

// Command is a slash command of an engine. Source: acp.md 7 and
// available_commands_update.
type Command struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	Source       string `json:"source,omitempty"`
	ArgumentHint string `json:"argumentHint,omitempty"`
}

// decodeCommands reads a list of commands of either shape.
func decodeCommands(list json.RawMessage) []Command {
	out := []Command{}
	for _, entry := range array(list) {
		fields := object(entry)
		c := Command{Name: str(fields["name"]), Description: str(fields["description"]), Source: str(fields["source"]), ArgumentHint: str(fields["argumentHint"])}
		if c.ArgumentHint == "" {
			c.ArgumentHint = str(object(fields["input"])["hint"])
		}
		if c.Name != "" {
			out = append(out, c)
		}
	}
	return out
}

// array is the elements of a JSON array, nil for anything else.
func array(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
