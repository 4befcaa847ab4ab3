// Nodes and their slots, a small box each. Thousands of them: cells are made once, and later only recoloured.
const path = (kind, name) => `/${kind}/${encodeURIComponent(name)}`;

export default {
  template: `<div class="t-map" role="group" aria-label="Map of nodes and slots"></div>`,
  props: { told: String },
  watch: { told() { this.draw(); } },
  mounted() {
    this.$el.addEventListener("mouseover", (event) => this.tell(event.target));
    this.$el.addEventListener("click", (event) => this.go(event.target));
    this.draw();
  },
  methods: {
    draw() {
      if (!this.told) return;
      this.now = JSON.parse(this.told);
      const shape = JSON.stringify([this.now.nodes, this.now.slots.map((slots) => slots.length)]);
      if (shape !== this.shape) this.build();
      this.shape = shape;
      this.cells.forEach((cells, node) => {
        const state = this.now.states[node];
        cells[0]?.parentNode.setAttribute("data-state", state);
        cells.forEach((cell, slot) => this.colour(cell, this.now.jobs[this.now.slots[node][slot]]));
      });
    },
    build() {
      const all = document.createDocumentFragment();
      this.cells = this.now.nodes.map((name, node) => {
        const box = document.createElement("div");
        box.className = "t-node";
        const link = box.appendChild(document.createElement("a"));
        link.href = path("nodes", name);
        link.textContent = link.title = name;
        const row = box.appendChild(document.createElement("div"));
        row.className = "t-slots";
        all.appendChild(box);
        return this.now.slots[node].map((_, slot) => {
          const cell = row.appendChild(document.createElement("i"));
          cell.place = [node, slot];
          return cell;
        });
      });
      const count = this.cells.length;
      this.$el.dataset.size = count <= 12 ? "few" : count <= 64 ? "named" : count <= 300 ? "some" : "many";
      this.$el.replaceChildren(all);
    },
    colour(cell, job) {
      if (cell.job === job?.[0]) return;
      cell.job = job?.[0];
      cell.style.background = job ? job[3] : "";
      if (job) cell.setAttribute("data-job", job[0]);
      else cell.removeAttribute("data-job");
    },
    tell(cell) {
      if (!cell.place) return;
      const [node, slot] = cell.place;
      const job = this.now.jobs[this.now.slots[node][slot]];
      const state = this.now.states[node];
      cell.title = [this.now.nodes[node], `slot ${slot}`, job ? `${job[1]} (${job[2]})` : state === "online" ? "free" : state]
        .concat(job && state !== "online" ? [state] : []).join(" · ");
    },
    go(cell) {
      if (!cell.place) return;
      window.location.href = cell.job ? path("jobs", cell.job) : path("nodes", this.now.nodes[cell.place[0]]);
    },
  },
};
