package main

import (
	"context"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// archiveDone archives the conversations that were finished long ago. It runs
// before any conversation does, so that here alone somebody else than its actor
// may publish for one: a client that continues from the event log hears of it.
// A failure keeps nobody from starting. Source: mcp-state.md 5.
func (s *service) archiveDone() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := s.call(ctx, msg.Store, msg.AutoArchive{})
	if err != nil {
		s.logger.Warn("finished conversations not archived", "reason", err)
		return nil
	}
	ids, _ := reply.([]contract.ConversationID)
	body, err := contract.Marshal(map[string]any{"archived": true})
	if err != nil {
		return err
	}
	for _, id := range ids {
		subject, err := contract.ConversationSubject(contract.WhatUpdated, id)
		if err == nil {
			_, err = s.events.Publish(subject, "", body)
		}
		if err != nil {
			s.logger.Warn("archived conversation not published", "conv", id, "reason", err)
		}
	}
	if len(ids) > 0 {
		s.logger.Info("finished conversations archived", "count", len(ids))
	}
	return nil
}
