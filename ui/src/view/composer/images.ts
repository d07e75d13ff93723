// Reads pasted and dropped images; a refusal is shown, never silent.

import { MaxImageBytes } from '../../contract/gen'
import type { Staged } from '../../store/stores'

let serial = 0

/** The image files of a paste or a drop. */
export function imagesOf(data: DataTransfer | null): File[] {
  return Array.from(data?.files ?? []).filter((f) => f.type.startsWith('image/'))
}

export function stageImages(files: File[]): Promise<Staged[]> {
  return Promise.all(files.map(stageImage))
}

async function stageImage(file: File): Promise<Staged> {
  const name = file.name || 'image'
  const base = { id: `f${++serial}`, name, bytes: file.size, preview: '', refusal: '' }
  if (file.size > MaxImageBytes) return { ...base, refusal: `${name} is larger than 5 MB` }
  try {
    const url = await readDataUrl(file)
    const data = url.slice(url.indexOf(',') + 1)
    return {
      ...base,
      preview: url,
      attachment: { media_type: file.type, data_base64: data, name },
    }
  } catch {
    return { ...base, refusal: `${name} could not be read` }
  }
}

function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => {
      if (typeof reader.result === 'string') resolve(reader.result)
      else reject(new Error('The file is not readable.'))
    }
    reader.onerror = () => reject(new Error('The file is not readable.'))
    reader.readAsDataURL(file)
  })
}
