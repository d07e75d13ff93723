package msg

import "github.com/packetbench/packetbench/contract"

// Requests to the store about profiles. All are Calls answered by ProfileList.
type (
	// ListProfiles changes nothing.
	ListProfiles struct{}
	// SaveProfile creates a profile (empty id) or replaces a person's own.
	SaveProfile struct{ Profile contract.Profile }
	// CloneProfile copies one under another name.
	CloneProfile struct{ ID string }
	// DeleteProfile removes a person's own.
	DeleteProfile struct{ ID string }
	// DefaultProfile makes one the profile of launches that name none.
	DefaultProfile struct{ ID string }
	// ProfileList is every profile as it is now. Failure names what was refused,
	// and then nothing was changed.
	ProfileList struct {
		Profiles contract.Profiles
		Failure  *contract.Failure
	}
)
