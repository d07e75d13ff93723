package store

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func profileNames(l msg.ProfileList) (names []string) {
	for _, p := range l.Profiles.Profiles {
		names = append(names, p.Name)
	}
	return names
}

func (s *settings) profile(t *testing.T, id string) contract.Profile {
	t.Helper()
	for _, p := range s.listProfiles("", nil).Profiles.Profiles {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no profile %q", id)
	return contract.Profile{}
}

// The three of mcp-state.md 9.
func TestProfiles_BuiltIn(t *testing.T) {
	t.Parallel()
	s := newSettings(home(t))
	l := s.listProfiles("", nil)
	if got := profileNames(l); !slices.Equal(got, []string{"Default", "Scout", "Reviewer"}) || l.Profiles.Default != "builtin-default" {
		t.Fatalf("%q, default %q", got, l.Profiles.Default)
	}
	for id, want := range map[string]struct {
		tools        []string
		memory, plan bool
	}{
		"builtin-default":  {nil, true, false},
		"builtin-scout":    {[]string{"read_file", "list_directory", "grep", "web_fetch"}, true, true},
		"builtin-reviewer": {[]string{"read_file", "list_directory", "grep"}, false, true},
	} {
		p := s.profile(t, id)
		if !slices.Equal(p.AllowedTools, want.tools) || (p.AllowedTools == nil) != (want.tools == nil) || p.MemoryContextEnabled != want.memory || p.PlanMode != want.plan || p.PermissionMode != contract.ModeAuto || !p.IsBuiltin {
			t.Errorf("%+v", p)
		}
		p.Name = "changed"
		if got := s.saveProfile(p); got.Failure == nil || got.Failure.Code != contract.CodeConflict {
			t.Errorf("%s was changed", id)
		}
		if got := s.deleteProfile(id); got.Failure == nil || got.Failure.Code != contract.CodeConflict {
			t.Errorf("%s was deleted", id)
		}
	}
	if exists(s.paths.State()) {
		t.Error("nothing was changed, and the state was written")
	}
}

// A person's own survive a restart, are never written beside the built-ins, and
// a deleted default falls back.
func TestProfiles_Own(t *testing.T) {
	t.Parallel()
	s := newSettings(home(t))
	made := s.cloneProfile(contract.ProfileScout)
	id := made.Profiles.ID
	if made.Failure != nil || id == "" || !slices.Equal(profileNames(made), []string{"Default", "Scout", "Reviewer", "Scout (copy)"}) {
		t.Fatalf("%+v", made)
	}
	p := s.profile(t, id)
	if p.IsBuiltin || p.CreatedAt != at.UnixMilli() || !p.PlanMode || len(p.AllowedTools) != 4 {
		t.Errorf("the copy: %+v", p)
	}
	p.Name, p.PinnedModel, p.AllowedTools, p.IsBuiltin, p.CreatedAt = " Alpha ", "m-1", []string{"grep", "grep", " bash"}, true, 7
	if got := s.saveProfile(p); got.Failure != nil || got.Profiles.ID != id {
		t.Fatalf("%+v", got)
	}
	if got := s.saveProfile(contract.Profile{Name: "aardvark", AllowedTools: []string{}}); got.Failure != nil {
		t.Fatal(got.Failure)
	}
	if got := s.defaultProfile(id); got.Failure != nil || got.Profiles.Default != id {
		t.Fatalf("%+v", got)
	}
	again := newSettings(s.paths)
	if got := profileNames(again.listProfiles("", nil)); !slices.Equal(got, []string{"Default", "Scout", "Reviewer", "aardvark", "Alpha"}) {
		t.Errorf("after a restart: %q", got)
	}
	p = again.profile(t, id)
	if p.Name != "Alpha" || p.PinnedModel != "m-1" || !slices.Equal(p.AllowedTools, []string{"grep", "bash"}) || p.IsBuiltin || p.CreatedAt != at.UnixMilli() {
		t.Errorf("after a restart: %+v", p)
	}
	if none := again.profile(t, again.listProfiles("", nil).Profiles.Profiles[3].ID); none.AllowedTools == nil || len(none.AllowedTools) != 0 || none.PermissionMode != contract.ModeAskForRisky {
		t.Errorf("no tool at all: %+v", none)
	}
	raw, err := os.ReadFile(s.paths.State())
	if err != nil || strings.Contains(string(raw), "builtin-scout") {
		t.Errorf("the built-ins were written: %v", err)
	}
	if got := again.deleteProfile(id); got.Failure != nil || got.Profiles.Default != contract.ProfileDefault {
		t.Errorf("deleting the default: %+v", got)
	}
	for what, got := range map[string]msg.ProfileList{
		"delete": again.deleteProfile(id), "clone": again.cloneProfile(id), "default": again.defaultProfile(id), "save": again.saveProfile(p),
	} {
		if got.Failure == nil || got.Failure.Code != contract.CodeNotFound {
			t.Errorf("%s of one that is gone: %+v", what, got.Failure)
		}
	}
}

func TestProfiles_Refused(t *testing.T) {
	t.Parallel()
	s := newSettings(home(t))
	for field, p := range map[string]contract.Profile{
		"name":            {Name: " "},
		"description":     {Name: "x", Description: strings.Repeat("d", maxProfileText+1)},
		"system_prompt":   {Name: "x", SystemPrompt: strings.Repeat("d", maxProfilePrompt+1)},
		"permission_mode": {Name: "x", PermissionMode: "maybe"},
		"allowed_tools":   {Name: "x", AllowedTools: []string{"grep", " "}},
		"pinned_model":    {Name: "x", PinnedModel: strings.Repeat("m", 201)},
	} {
		if got := s.saveProfile(p); got.Failure == nil || !strings.HasPrefix(got.Failure.Message, field+": ") {
			t.Errorf("%s: %+v", field, got.Failure)
		}
	}
	for range maxProfiles {
		if got := s.saveProfile(contract.Profile{Name: strings.Repeat("n", maxProfileName)}); got.Failure != nil {
			t.Fatal(got.Failure)
		}
	}
	if got := s.saveProfile(contract.Profile{Name: "x"}); got.Failure == nil || got.Failure.Code != contract.CodeOverLimit {
		t.Errorf("one too many: %+v", got.Failure)
	}
	if got := s.patch(json.RawMessage(`{"profiles":[]}`)); got.Failure == nil || !strings.HasPrefix(got.Failure.Message, "profiles: ") {
		t.Errorf("set_settings: %+v", got.Failure)
	}
	// A copy of a long name is cut, not refused.
	s.deleteProfile(s.own()[0].ID)
	if got := s.cloneProfile(s.own()[0].ID); got.Failure != nil || !strings.HasSuffix(s.profile(t, got.Profiles.ID).Name, "n (copy)") {
		t.Errorf("a copy of a long name: %+v", got.Failure)
	}
}

// What a damaged file holds in their place is left out.
func FuzzProfiles(f *testing.F) {
	f.Add(`[{"id":"p","name":"x"},7,{"id":"builtin-scout","name":"y"}]`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, raw string) {
		s := &settings{app: fields{keyProfiles: json.RawMessage(raw), keyDefaultProfile: json.RawMessage(raw)}}
		l := s.listProfiles("", nil).Profiles
		if len(l.Profiles) < 3 || l.Profiles[1].Name != "Scout" {
			t.Fatalf("%+v", l)
		}
		for _, p := range l.Profiles[3:] {
			if p.ID == "" || p.IsBuiltin || builtIn(p.ID) {
				t.Errorf("%+v", p)
			}
		}
	})
}

// The store answers each request about profiles.
func TestStore_Profiles(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Paths: home(t)})
	made := ask[msg.ProfileList](r, msg.SaveProfile{Profile: contract.Profile{Name: "Mine"}})
	id := made.Profiles.ID
	if made.Failure != nil || id == "" {
		t.Fatalf("%+v", made)
	}
	if got := ask[msg.ProfileList](r, msg.CloneProfile{ID: id}); got.Failure != nil || len(got.Profiles.Profiles) != 5 {
		t.Errorf("clone: %+v", got)
	}
	if got := ask[msg.ProfileList](r, msg.DefaultProfile{ID: id}); got.Failure != nil || got.Profiles.Default != id {
		t.Errorf("default: %+v", got)
	}
	if got := ask[msg.ProfileList](r, msg.DeleteProfile{ID: id}); got.Failure != nil || got.Profiles.Default != contract.ProfileDefault {
		t.Errorf("delete: %+v", got)
	}
	if got := ask[msg.ProfileList](r, msg.ListProfiles{}); got.Failure != nil || len(got.Profiles.Profiles) != 4 || got.Profiles.ID != "" {
		t.Errorf("list: %+v", got)
	}
	ask[msg.Settings](r, msg.PatchSettings{Patch: []byte(`{"default_profile":"builtin-scout"}`)})
	if got := ask[msg.ProfileList](r, msg.ListProfiles{}); got.Profiles.Default != contract.ProfileScout {
		t.Errorf("a default that was set as a setting: %+v", got.Profiles.Default)
	}
}
