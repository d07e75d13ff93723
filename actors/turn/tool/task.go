package tool

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
)

// TaskStatus is the state of one task.
type TaskStatus string

// The states of a task.
const (
	TaskPending    TaskStatus = "pending"
	TaskInProgress TaskStatus = "in_progress"
	TaskCompleted  TaskStatus = "completed"
)

// Limits of a task list: it is read back to the model as a whole.
const (
	maxTasks      = 500
	maxTitleChars = 500
)

// Task is one entry of a task list.
type Task struct {
	// ID is a UUID.
	ID string
	// Title is one line.
	Title  string
	Status TaskStatus
}

// Tasks is the task list of one conversation. It survives its turns, is cleared
// when the conversation closes and is never stored. It is safe for concurrent
// use.
type Tasks struct {
	mu   sync.Mutex
	list []Task
}

// NewTasks returns an empty list.
func NewTasks() *Tasks { return &Tasks{} }

// All returns a copy of the list, oldest first.
func (t *Tasks) All() []Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Task(nil), t.list...)
}

// Clear empties the list.
func (t *Tasks) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = nil
}

// Markdown returns the list as a checklist, each line ended by the task's id.
func (t *Tasks) Markdown() string {
	all := t.All()
	if len(all) == 0 {
		return "No tasks yet."
	}
	box := map[TaskStatus]string{TaskPending: "[ ]", TaskInProgress: "[~]", TaskCompleted: "[x]"}
	lines := make([]string, len(all))
	for i, k := range all {
		lines[i] = fmt.Sprintf("- %s %s (%s)", box[k.Status], k.Title, k.ID)
	}
	return strings.Join(lines, "\n")
}

func (t *Tasks) create(a args) (Result, error) {
	title, err := taskTitle(a)
	if err != nil {
		return Result{}, err
	}
	status, err := a.oneOf("status", string(TaskPending), taskStates...)
	if err != nil {
		return Result{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTasks {
		return Result{}, fmt.Errorf("the list holds %d tasks, which is the limit; update one of them instead", maxTasks)
	}
	k := Task{ID: newUUID(), Title: title, Status: TaskStatus(status)}
	t.list = append(t.list, k)
	return Result{Content: k.ID}, nil
}

func (t *Tasks) update(a args) (Result, error) {
	id, err := a.filled("task_id")
	if err != nil {
		return Result{}, err
	}
	if !a.has("status") && !a.has("title") {
		return Result{}, &ArgumentError{Problem: "name nothing to change; give 'status' or 'title'"}
	}
	var title, status string
	if a.has("title") {
		if title, err = taskTitle(a); err != nil {
			return Result{}, err
		}
	}
	if a.has("status") {
		if status, err = a.oneOf("status", "", taskStates...); err != nil {
			return Result{}, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.list {
		k := &t.list[i]
		if k.ID != strings.TrimSpace(id) {
			continue
		}
		if title != "" {
			k.Title = title
		}
		if status != "" {
			k.Status = TaskStatus(status)
		}
		return Result{Content: fmt.Sprintf("Updated: %s (%s)", k.Title, k.Status)}, nil
	}
	return Result{}, &ArgumentError{"task_id", fmt.Sprintf("names no task: '%s'; task_list shows the ids", id)}
}

var taskStates = []string{string(TaskPending), string(TaskInProgress), string(TaskCompleted)}

// taskTitle makes one line of a title: a line break would break the checklist.
func taskTitle(a args) (string, error) {
	s, err := a.filled("title")
	if err != nil {
		return "", err
	}
	s = strings.Join(strings.Fields(s), " ")
	if _, cut := cutChars(s, maxTitleChars); cut {
		return "", &ArgumentError{"title", fmt.Sprintf("must have at most %d characters", maxTitleChars)}
	}
	return s, nil
}

// newUUID returns a random UUID. Source: RFC 9562 section 5.4 (version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
