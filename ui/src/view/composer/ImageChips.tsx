import type { Staged } from '../../store/stores'
import { Icon } from '../Icon'

/** Staged images, and those that were refused with the reason. */
export function ImageChips(props: { images: Staged[]; onRemove: (id: string) => void }) {
  if (props.images.length === 0) return null
  return (
    <ul className="pics" aria-label="Images">
      {props.images.map((image) => (
        <li
          key={image.id}
          className={image.refusal === '' ? 'pic' : 'pic bad'}
          title={
            image.refusal === '' ? `${image.name} · ${Math.ceil(image.bytes / 1024)} KB` : undefined
          }
        >
          {image.refusal === '' && <img src={image.preview} alt="" />}
          <span className="cut" role={image.refusal === '' ? undefined : 'alert'}>
            {image.refusal === '' ? image.name : image.refusal}
          </span>
          <button
            type="button"
            className="ico"
            aria-label={`Remove ${image.name}`}
            onClick={() => props.onRemove(image.id)}
          >
            <Icon name="x" className="i-s" />
          </button>
        </li>
      ))}
    </ul>
  )
}
