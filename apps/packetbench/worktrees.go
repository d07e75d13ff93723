package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// maxSwept is how many projects are looked through at a start.
const maxSwept = 1000

// reportWorktrees logs, beside the running service, the worktrees that no
// conversation owns: a launch that was cut short, or a deletion that left one.
// Nothing is ever removed: there may be work in it (F33). Source: mcp-state.md 12.
func (s *service) reportWorktrees() error {
	go func() {
		ctx, cancel := context.WithTimeout(s.life, 10*time.Second)
		defer cancel()
		reply, err := s.call(ctx, msg.Store, msg.ListConversations{})
		list, ok := reply.([]contract.Summary)
		if err != nil || !ok {
			return
		}
		for _, path := range orphans(list) {
			s.logger.Warn("worktree without a conversation; remove it with git worktree remove if nothing in it is needed", "path", path)
		}
	}()
	return nil
}

// orphans are the worktrees in the projects of these conversations that belong
// to none of them.
func orphans(list []contract.Summary) []string {
	owned, projects := map[string]bool{}, map[string]bool{}
	for _, c := range list {
		base := c.ProjectPath
		if c.Worktree != nil {
			base = c.Worktree.BasePath
			owned[c.Worktree.WorktreePath] = true
		}
		if base != "" && len(projects) < maxSwept {
			projects[base] = true
		}
		owned[c.ProjectPath] = true
	}
	var found []string
	for base := range projects {
		dir := filepath.Join(base, ".pkt-worktrees")
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // Most projects have none.
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); e.IsDir() && !owned[path] {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return found
}
