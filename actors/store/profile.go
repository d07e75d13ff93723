package store

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Bounds of a profile. Ours: what fits a picker and a prompt.
const (
	maxProfiles     = 100
	maxProfileName  = 80
	maxProfileText  = 500
	maxProfileTools = 200
	// maxProfilePrompt is in bytes.
	maxProfilePrompt = 64 << 10
)

// The keys of the settings that hold a person's own profiles and the default.
const (
	keyProfiles       = "profiles"
	keyDefaultProfile = "default_profile"
)

// builtIns are the profiles of the program: they are joined to a person's own
// at each question and never written. Source: mcp-state.md 9, ui.md 4.2. The
// prompts are ours; an empty one means PacketBench's own instructions alone.
func builtIns() []contract.Profile {
	return []contract.Profile{
		{
			ID: contract.ProfileDefault, Name: "Default", IsBuiltin: true, MemoryContextEnabled: true, PermissionMode: contract.ModeAuto,
			Description: "Full toolset with the autonomous agent harness \u2014 plans, uses tools, and drives the task to completion.",
		},
		{
			ID: contract.ProfileScout, Name: "Scout", IsBuiltin: true, MemoryContextEnabled: true, PermissionMode: contract.ModeAuto, PlanMode: true,
			AllowedTools: []string{"read_file", "list_directory", "grep", "web_fetch"},
			Description:  "Read-only investigator \u2014 explores the codebase, recommends in prose. No edits or commands.",
			SystemPrompt: "You are a scout. Explore the project until you can answer, then report in prose: what you found, where it stands (file and line), what you recommend and what you are not sure of. " +
				"Change nothing and propose no patches; others will carry it out.",
		},
		{
			ID: contract.ProfileReviewer, Name: "Reviewer", IsBuiltin: true, PermissionMode: contract.ModeAuto, PlanMode: true,
			AllowedTools: []string{"read_file", "list_directory", "grep"},
			Description:  "Cheap critic \u2014 reads the staged diff, reports prioritized findings, never touches files.",
			SystemPrompt: "You are a reviewer. Read the change you are given and the code around it, and report findings, the most serious first: what is wrong, where (file and line), what it leads to, how to mend it. " +
				"Leave out what is only taste. Say so when you find nothing. Change nothing.",
		},
	}
}

// own reads a person's profiles. One that cannot be read is left out of the
// answers; it goes away with the next change.
func (s *settings) own() []contract.Profile {
	var raw []json.RawMessage
	if json.Unmarshal(s.app[keyProfiles], &raw) != nil {
		return nil
	}
	var list []contract.Profile
	for _, r := range raw {
		var p contract.Profile
		if json.Unmarshal(r, &p) == nil && p.ID != "" && !builtIn(p.ID) {
			p.IsBuiltin = false
			list = append(list, p)
		}
	}
	return list
}

func builtIn(id string) bool {
	return slices.ContainsFunc(builtIns(), func(p contract.Profile) bool { return p.ID == id })
}

// listProfiles is what every question about profiles is answered with.
func (s *settings) listProfiles(id string, failure *contract.Failure) msg.ProfileList {
	own := s.own()
	slices.SortStableFunc(own, func(a, b contract.Profile) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.ID, b.ID))
	})
	all := append(builtIns(), own...)
	var chosen string
	_ = json.Unmarshal(s.app[keyDefaultProfile], &chosen) // Absent or of another kind: none.
	if !slices.ContainsFunc(all, func(p contract.Profile) bool { return p.ID == chosen }) {
		chosen = contract.ProfileDefault
	}
	return msg.ProfileList{Profiles: contract.Profiles{Profiles: all, Default: chosen, ID: id}, Failure: failure}
}

// saveProfile creates or replaces one.
func (s *settings) saveProfile(p contract.Profile) msg.ProfileList {
	failure := checkProfile(&p)
	own, now := s.own(), s.now().UnixMilli()
	i := slices.IndexFunc(own, func(q contract.Profile) bool { return q.ID == p.ID })
	switch {
	case failure != nil:
	case builtIn(p.ID):
		failure = contract.Fail(contract.CodeConflict, "The built-in profiles cannot be changed. Make a copy and change that.")
	case p.ID != "" && i < 0:
		failure = contract.Fail(contract.CodeNotFound, "There is no such profile any more.")
	case i < 0 && len(own) >= maxProfiles:
		failure = contract.Fail(contract.CodeOverLimit, "There are %d profiles already. Delete one first.", maxProfiles)
	}
	if failure != nil {
		return s.listProfiles("", failure)
	}
	p.IsBuiltin, p.UpdatedAt = false, now
	if i < 0 {
		p.ID, p.CreatedAt = newProfileID(), now
		own = append(own, p)
	} else {
		p.CreatedAt = own[i].CreatedAt
		own[i] = p
	}
	return s.writeProfiles(own, p.ID)
}

func newProfileID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // Never fails, see its documentation.
	return "profile-" + hex.EncodeToString(b)
}

// checkProfile refuses what would not work, and cleans what would look odd.
func checkProfile(p *contract.Profile) *contract.Failure {
	p.Name, p.Description = strings.TrimSpace(p.Name), strings.TrimSpace(p.Description)
	p.PinnedModel = strings.TrimSpace(p.PinnedModel)
	if p.PermissionMode == "" {
		p.PermissionMode = contract.ModeAskForRisky
	}
	switch {
	case p.Name == "" || utf8.RuneCountInString(p.Name) > maxProfileName:
		return contract.BadParam("name", "want 1 to %d characters", maxProfileName)
	case utf8.RuneCountInString(p.Description) > maxProfileText:
		return contract.BadParam("description", "want at most %d characters", maxProfileText)
	case len(p.SystemPrompt) > maxProfilePrompt:
		return contract.BadParam("system_prompt", "want at most %d KiB", maxProfilePrompt>>10)
	case utf8.RuneCountInString(p.PinnedModel) > 200:
		return contract.BadParam("pinned_model", "want at most 200 characters")
	case !p.PermissionMode.Valid():
		return contract.BadParam("permission_mode", "want auto, ask_for_risky, allow_all or deny_all")
	case len(p.AllowedTools) > maxProfileTools:
		return contract.BadParam("allowed_tools", "want at most %d names", maxProfileTools)
	}
	if p.AllowedTools == nil {
		return nil
	}
	tools := []string{}
	for _, name := range p.AllowedTools {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > 128 {
			return contract.BadParam("allowed_tools", "a name has 1 to 128 characters")
		}
		if !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	p.AllowedTools = tools
	return nil
}

// cloneProfile copies one, a built-in too.
func (s *settings) cloneProfile(id string) msg.ProfileList {
	for _, p := range s.listProfiles("", nil).Profiles.Profiles {
		if p.ID != id {
			continue
		}
		const suffix = " (copy)"
		p.ID = ""
		if over := utf8.RuneCountInString(p.Name+suffix) - maxProfileName; over > 0 {
			p.Name = string([]rune(p.Name)[:utf8.RuneCountInString(p.Name)-over])
		}
		p.Name += suffix
		return s.saveProfile(p)
	}
	return s.listProfiles("", contract.Fail(contract.CodeNotFound, "There is no such profile any more."))
}

// deleteProfile removes a person's own; the default falls back.
func (s *settings) deleteProfile(id string) msg.ProfileList {
	own := s.own()
	i := slices.IndexFunc(own, func(p contract.Profile) bool { return p.ID == id })
	switch {
	case builtIn(id):
		return s.listProfiles("", contract.Fail(contract.CodeConflict, "The built-in profiles cannot be deleted."))
	case i < 0:
		return s.listProfiles("", contract.Fail(contract.CodeNotFound, "There is no such profile any more."))
	}
	return s.writeProfiles(slices.Delete(own, i, i+1), "")
}

func (s *settings) defaultProfile(id string) msg.ProfileList {
	if !slices.ContainsFunc(s.listProfiles("", nil).Profiles.Profiles, func(p contract.Profile) bool { return p.ID == id }) {
		return s.listProfiles("", contract.Fail(contract.CodeNotFound, "There is no such profile any more."))
	}
	next := maps.Clone(s.app)
	next[keyDefaultProfile] = quote(id)
	return s.writeApp(next, id)
}

func (s *settings) writeProfiles(own []contract.Profile, id string) msg.ProfileList {
	next := maps.Clone(s.app)
	raw, err := contract.Marshal(own)
	if err != nil {
		return s.listProfiles("", contract.Fail(contract.CodeInternal, "The profiles could not be encoded."))
	}
	if next[keyProfiles] = raw; len(own) == 0 {
		delete(next, keyProfiles)
	}
	return s.writeApp(next, id)
}

func (s *settings) writeApp(next fields, id string) msg.ProfileList {
	if err := s.saveState(next, s.launches); err != nil {
		return s.listProfiles("", contract.Fail(contract.CodeInternal, "%s", err))
	}
	return s.listProfiles(id, nil)
}

// profileRequest carries out one request about profiles.
func (a *actor) profileRequest(request any, later func(any)) {
	var run func() msg.ProfileList
	switch m := request.(type) {
	case msg.ListProfiles:
		run = func() msg.ProfileList { return a.settings.listProfiles("", nil) }
	case msg.SaveProfile:
		run = func() msg.ProfileList { return a.settings.saveProfile(m.Profile) }
	case msg.CloneProfile:
		run = func() msg.ProfileList { return a.settings.cloneProfile(m.ID) }
	case msg.DeleteProfile:
		run = func() msg.ProfileList { return a.settings.deleteProfile(m.ID) }
	case msg.DefaultProfile:
		run = func() msg.ProfileList { return a.settings.defaultProfile(m.ID) }
	}
	a.do(laneSettings, func() func() {
		list, known := run(), a.settings.listProfiles("", nil)
		return func() {
			a.profiles = &known
			later(list)
		}
	})
}
