// A picture kept off the screen, with the view it was drawn for.

export class Layer {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.ctx = this.canvas.getContext("2d");
    this.view = null;
  }

  begin(camera, ratio) {
    this.canvas.width = camera.width * ratio;
    this.canvas.height = camera.height * ratio;
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.view = camera.view;
  }

  /** Puts the picture where it belongs in the view of now. */
  blit(ctx, camera, ratio) {
    const zoom = camera.view.scale / this.view.scale;
    const at = camera.toScreen(this.view.x, this.view.y);
    ctx.drawImage(this.canvas, at.x, at.y, (this.canvas.width / ratio) * zoom, (this.canvas.height / ratio) * zoom);
  }
}
