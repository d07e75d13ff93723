import type { ClipboardEvent, DragEvent } from 'react'
import { useRef, useState } from 'react'
import { imagesOf, stageImages } from './images'
import type { Staged } from '../../store/stores'

/** Paste and drop of images; off by capability, then the browser's own rule. */
export function useImageDrop(allowed: boolean, onImages: (images: Staged[]) => void) {
  // Entering a child leaves its parent: the depth tells when all is left.
  const depth = useRef(0)
  const [over, setOver] = useState(false)
  const take = (files: File[]): void => void stageImages(files).then(onImages)
  const left = (): void => {
    depth.current = 0
    setOver(false)
  }
  const handlers = {
    onPaste: (e: ClipboardEvent) => {
      const files = imagesOf(e.clipboardData)
      if (!allowed || files.length === 0) return
      e.preventDefault()
      take(files)
    },
    onDragEnter: (e: DragEvent) => {
      if (!allowed || !Array.from(e.dataTransfer.types).includes('Files')) return
      depth.current++
      setOver(true)
    },
    onDragLeave: () => {
      depth.current = Math.max(0, depth.current - 1)
      if (depth.current === 0) setOver(false)
    },
    onDragOver: (e: DragEvent) => {
      if (allowed) e.preventDefault()
    },
    onDrop: (e: DragEvent) => {
      left()
      if (!allowed) return
      e.preventDefault()
      const files = imagesOf(e.dataTransfer)
      if (files.length > 0) take(files)
    },
  }
  return { over, handlers }
}
